"""Example trainings that come with stretto."""
